import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import SyncVectorEnv

from healthgym.envs import ClinicalEnv, env_id
from healthgym.errors import ConfigError, NotRegistered, ResetNeeded
from healthgym.rollout.markup import render_call

DOMAINS = ("triage_emergency", "drug_interaction")


def write(*calls):
    return "\n".join(render_call(name, arguments) for name, arguments in calls)


def oracle(env):
    return [write((call.tool, call.arguments)) for call in env.unwrapped.episode.task.solution]


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_registered_environments_pass_gymnasiums_own_check(domain):
    check_env(gymnasium.make(env_id(domain)).unwrapped, skip_render_check=True)


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_oracle_earns_one_and_terminates(domain):
    env = gymnasium.make(env_id(domain))
    env.reset(seed=3)
    for message in oracle(env):
        _, reward, terminated, truncated, info = env.step(message)
    assert (reward, terminated, truncated, info["stop_reason"]) == (1.0, True, False, "submitted")
    assert info["success"] and info["permitted"] == []


def test_one_seed_is_one_episode(fever):
    def run(seed):
        env = ClinicalEnv(fever)
        told = [env.reset(seed=seed)]
        steps = [env.step(message) for message in oracle(env)]
        return told[0][0], [(step[0], step[1], step[4]["state_hash"]) for step in steps]

    assert run(5) == run(5)
    assert len({str(run(seed)) for seed in range(6)}) > 1


def test_the_prompt_and_tools_come_with_reset(fever):
    env = ClinicalEnv(fever)
    prompt, info = env.reset(seed=0)
    assert [message["role"] for message in info["messages"]] == ["system", "user"]
    assert info["messages"][-1]["content"] == prompt
    shown = [schema["function"]["name"] for schema in info["tools"]]
    assert shown == info["permitted"] == list(env.domain.tools)


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_tools_shown_are_the_tools_allowed(domain):
    env = ClinicalEnv(domain)
    for seed in range(8):
        _, info = env.reset(seed=seed)
        shown = [schema["function"]["name"] for schema in info["tools"]]
        assert shown == info["permitted"]
        hidden = next((name for name in env.domain.tools if name not in shown), None)
        if hidden:
            observation, *_ = env.step(write((hidden, {})))
            assert observation.startswith(f"Error: No tool {hidden!r} here.")


def test_a_fork_in_mid_episode_is_independent(fever):
    env = ClinicalEnv(fever)
    env.reset(seed=1)
    messages = oracle(env)
    env.step(messages[0])
    branch = env.fork()
    before = env.episode.world.state.hash(), len(env.episode.messages), dict(env.episode.world.facts)
    branch.step(write(("give_paracetamol", {"patient_id": "P1", "dose_mg": 4000})))
    branch.step(write(("ask_patient", {"patient_id": "P1", "question": "Any allergies?"})))
    assert branch.episode.world.state.hash() != before[0]
    assert (env.episode.world.state.hash(), len(env.episode.messages), dict(env.episode.world.facts)) == before
    for message in messages[1:]:
        _, reward, *_ = env.step(message)
    assert reward == 1.0
    branch.step(messages[-1])
    assert branch.episode.grade().is_critical  # 4,000 mg is an overdose for every child


def test_what_a_fork_draws_later_leaves_its_origins_draws_alone(fever):
    def next_task(after_fork):
        env = ClinicalEnv(fever)
        env.reset(seed=1)
        env.action_space.seed(1)
        after_fork(env.fork())
        return [env.reset()[1]["task_id"] for _ in range(3)], [env.action_space.sample() for _ in range(3)]

    def draw(branch):
        branch.reset()
        branch.action_space.sample()

    assert next_task(draw) == next_task(lambda branch: None)


def test_running_out_of_turns_truncates_and_does_not_terminate(fever):
    env = ClinicalEnv(fever, max_turns=2)
    env.reset(seed=0)
    first = env.step("Let me think.")
    assert first[2:4] == (False, False) and "No tool was called" in first[0]
    _, reward, terminated, truncated, info = env.step("Still thinking.")
    assert (reward, terminated, truncated, info["stop_reason"]) == (0.0, False, True, "max_turns")


def test_calls_after_the_submission_in_one_message_are_not_run(fever):
    env = ClinicalEnv(fever)
    env.reset(seed=0)
    message = write(("submit_dose", {"dose_mg": 0}), ("give_paracetamol", {"patient_id": "P1", "dose_mg": 4000}))
    _, _, terminated, _, info = env.step(message)
    assert terminated and info["stop_reason"] == "submitted"
    assert [call.tool for call in env.episode.world.calls] == ["submit_dose"]
    assert info["grade"].hazards == ()


def test_stepping_outside_an_episode_says_to_reset(fever):
    env = ClinicalEnv(fever)
    with pytest.raises(ResetNeeded, match="to start an episode"):
        env.step("hello")
    with pytest.raises(ResetNeeded, match="there is no episode to branch"):
        env.fork()
    env.reset(seed=0)
    env.step(write(("submit_dose", {"dose_mg": 0})))
    with pytest.raises(ResetNeeded, match="ended \\(submitted\\)"):
        env.step("hello")


def test_unknown_names_offer_the_nearest(fever):
    with pytest.raises(NotRegistered, match="Did you mean 'triage_emergency'"):
        ClinicalEnv("triage_emergancy")
    with pytest.raises(NotRegistered, match="Did you mean 'train'"):
        ClinicalEnv(fever, split="trian")
    with pytest.raises(NotRegistered, match="Did you mean 'fever_dose'"):
        ClinicalEnv(fever, families=("fever_doze",))
    with pytest.raises(ConfigError, match="Did you mean 'compact'"):
        ClinicalEnv(fever, profile="compct")
    env = ClinicalEnv(fever)
    with pytest.raises(NotRegistered, match="Did you mean 'fever/fever_dose/train/000"):
        env.reset(options={"task_id": "fever/fever_dose/train/00003"})
    with pytest.raises(NotRegistered, match="No task 'fever/fever_dose/train/0040'"):
        env.reset(options={"task_id": "fever/fever_dose/train/0040"})  # 40 tasks: 0000 to 0039
    with pytest.raises(ConfigError, match="known: task_id, seed"):
        env.reset(options={"task": "x"})


def test_a_named_task_is_played(fever):
    _, info = ClinicalEnv(fever).reset(seed=0, options={"task_id": "fever/fever_dose/test/0002"})
    assert info["task_id"] == "fever/fever_dose/test/0002"


def test_malformed_calls_are_answered_with_the_way_to_write_them(fever):
    env = ClinicalEnv(fever)
    env.reset(seed=0)
    observation, *_ = env.step('<tool_call>{"name": "weigh_patient", "arguments": </tool_call>')
    assert "could not be read" in observation and '<tool_call>{"name": "TOOL"' in observation
    observation, *_ = env.step(write(("weigh_patient", {"patient": "P1"})))
    assert observation.startswith("Error:") and "patient_id" in observation
    observation, *_, info = env.step(write(("weigh_patient", {"patient_id": "P9"})))
    assert "No patient 'P9'" in observation and "P1" in observation
    assert info["stop_reason"] == "parse_failure"  # three turns in a row without one call that ran


def test_a_message_of_blocks_with_an_image_is_accepted(fever):
    env = ClinicalEnv(fever)
    env.reset(seed=0)
    blocks = [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "text", "text": write(("weigh_patient", {"patient_id": "P1"}))},
    ]
    message = {"role": "assistant", "content": blocks}
    assert env.action_space.contains(message) and env.action_space.contains(blocks)
    observation, *_ = env.step(message)
    assert observation.startswith("P1 weighs")


def test_structured_calls_and_markup_do_the_same(fever):
    def after(action):
        env = ClinicalEnv(fever)
        env.reset(seed=2)
        return env.step(action)[0], env.episode.world.state.hash()

    arguments = {"patient_id": "P1", "dose_mg": 100}
    structured = {"content": "", "tool_calls": [{"function": {"name": "give_paracetamol", "arguments": arguments}}]}
    assert after(structured) == after(write(("give_paracetamol", arguments)))


def test_a_vector_of_environments_steps_together(fever):
    envs = SyncVectorEnv([lambda: ClinicalEnv(fever) for _ in range(3)])
    _, info = envs.reset(seed=[0, 1, 2])
    assert len(info["task_id"]) == 3
    weigh = write(("weigh_patient", {"patient_id": "P1"}))
    observations, rewards, terminated, truncated, _ = envs.step([weigh] * 3)
    assert all(text.startswith("P1 weighs") for text in observations)
    assert not rewards.any() and not terminated.any() and not truncated.any()
