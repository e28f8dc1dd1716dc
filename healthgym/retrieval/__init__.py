"""Passages, encoders and indexes: what agents look things up in."""

from healthgym.retrieval.build import add_passages, build_index
from healthgym.retrieval.corpora import read_corpus
from healthgym.retrieval.encoders import Encoder, HashingEncoder, load_encoder
from healthgym.retrieval.index import MemoryRetriever, index_info, open_retriever, verify_index
from healthgym.retrieval.passages import Passage, read_passages, write_passages
from healthgym.retrieval.retriever import Hit, QueryError, Retriever
from healthgym.retrieval.sentence_encoder import SentenceTransformerEncoder
from healthgym.retrieval.service import SearchService

__all__ = [
    "Encoder",
    "HashingEncoder",
    "Hit",
    "MemoryRetriever",
    "Passage",
    "QueryError",
    "Retriever",
    "SearchService",
    "SentenceTransformerEncoder",
    "add_passages",
    "build_index",
    "index_info",
    "load_encoder",
    "open_retriever",
    "read_corpus",
    "read_passages",
    "verify_index",
    "write_passages",
]
