"""The words by which an answer is stated, declared right, or doubted: patterns for `extraction`, without groups."""

CUES = "|".join(
    (
        r"\\(?:boxed|fbox)\s?\{|<(?:final[_ ]?)?answer>",
        r"\b(?:answer|option|choice|response|diagnosis)(?: (?:here|choice|option|to (?:this|the|your) question))?(?:,? (?:therefore|thus|then))?"
        r"(?: (?:would|should|must|will) be| is|\s?[:=]| [-–—])(?: (?:therefore|thus|clearly|definitely|certainly|indeed|simply|probably|likely"
        r"|most likely|the following))*:?",
        r"\banswer(?= [(\[]?[A-Z][)\]]?(?:[.!\n]|$))",
        r"\b(?:i|we)(?:'d|'ll| would| will| must)?(?: have to)? (?:choose|select|pick|answer|go with|go for|opt for)",
        r"\b(?:respuesta|opción|resposta|opção|réponse|risposta)(?: \w{1,12}){0,2} (?:es|é|est|è)(?: (?:la|el|a|o|il))?:?",
        r"\b(?:respuesta|resposta|réponse|risposta|antwort|ответ)(?: \w{1,12})?\s?:",
        r"\bantwort(?: ist| lautet)(?: die| der)?:?",
        r"\bответ(?: [-–—]| это)",
        r"(?:答案|正确选项|正確選項|正解)(?:应该|應該|应当|就)?(?:是|为|為|选|選|は|:){1,2}|(?:故|应|應|因此|所以)?[选選](?![项項])(?:择|擇)?|答えは|정답은",
    )
)
"""What stands before the option that is stated."""

LEADS = r"(?:(?:the )?(?:option|choice|answer|letter|opción|opção|вариант)|选项|選項|the)"
"""Words that may stand between a cue and its option."""

VERDICT = (
    r"(?: is| would be| must be)(?: (?:clearly|therefore|thus|definitely|certainly|probably|the|by far)){0,3} "
    r"(?:(?:correct|right|best|most likely|most appropriate) (?:answer|option|choice|one|response)\b"
    r"|(?:correct|right)(?=[.!,;\n]| because| since|$))"
)
"""What stands after an option that is declared right."""

VERDICT_LEADS = r"(?:option|choice|answer|letter|that|think|believe|so|thus|hence|therefore|and|but)"
"""Words that may stand before a label that is declared right."""

CONNECTORS = (
    r"(?:because|since|as|due|given|which|for|based|so|therefore|is|and|or|but|with|according|that|this|the|while|whereas|by|from|not"
    r"|if|here|per|although|though|it|we|i)\b"
)
"""Words in small letters that can follow a label; any other shows that the letter belongs to a phrase ("A patient")."""

CLAUSE = r"[,:;.!?()\n。！？，—–]|\b(?:but|so|therefore|thus|hence|however|then|and)\b"
"""Where the clause begins that a doubt reaches over."""

CERTAIN = r"\b(?:no|not any|without(?: a| any)?) (?:doubt|question)\b"
"""Denials that deny nothing."""

DOUBTS = (
    r"\b(?:not|never|no|neither|nor|cannot|wrong|incorrect|false|if|whether|suppose|supposing|assume|assuming|unless|would have"
    r"|some|someone|might|may|could|tempting|unlikely)\b|n't\b|不|并非|如果|假如|错误"
)
"""Words that, earlier in the same clause, deny a statement or put it under a condition."""
