"""Passages, encoders and indexes: what agents look things up in."""

from healthgym.retrieval.build import build_index
from healthgym.retrieval.chunking import read_corpus
from healthgym.retrieval.encoders import Encoder, HashingEncoder, load_encoder
from healthgym.retrieval.index import MemoryRetriever, index_info, open_retriever
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
    "build_index",
    "index_info",
    "load_encoder",
    "open_retriever",
    "read_corpus",
    "read_passages",
    "write_passages",
]
