import pytest
import torch
from torch import nn

from healthgym.errors import ConfigError
from healthgym.training.saving import check_finite
from healthgym.training.shards import cut, entries, is_sharded, piece, whole_shape


def held_by(rank: int, monkeypatch: pytest.MonkeyPatch) -> nn.Linear:
    """A layer whose weight [[0, 1, 2, 3, 4]] two processes hold as DeepSpeed does: 0, 1, 2 and 3, 4 with one number of padding."""
    monkeypatch.setattr("torch.distributed.get_rank", lambda: rank)
    layer = nn.Linear(5, 1, bias=False)
    weight = layer.weight
    weight.data = torch.empty(0)
    weight.ds_id, weight.ds_numel, weight.ds_shape = 0, 5, torch.Size([1, 5])
    weight.ds_tensor = torch.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, float("nan")]][rank])
    return layer


def test_the_padding_of_the_last_piece_is_no_part_of_it(monkeypatch: pytest.MonkeyPatch):
    layer = held_by(1, monkeypatch)
    assert is_sharded(layer) and whole_shape(layer.weight) == (1, 5)
    assert piece(layer.weight).tolist() == [3.0, 4.0]
    check_finite(layer, "checkpoint-1")  # only the padding is no number
    piece(layer.weight)[0] = float("nan")  # it shares the parameter's memory
    with pytest.raises(ConfigError, match="weight holds NaN"):
        check_finite(layer, "checkpoint-1")


@pytest.mark.parametrize(("rank", "own"), [(0, [10.0, 11.0, 12.0]), (1, [13.0, 14.0])])
def test_a_whole_tensor_is_cut_as_the_parameter_is(rank: int, own: list[float], monkeypatch: pytest.MonkeyPatch):
    weight = held_by(rank, monkeypatch).weight
    assert cut(torch.arange(10.0, 15.0).view(1, 5), weight).tolist() == own


@pytest.mark.parametrize(("rank", "found"), [(0, [0.0, 2.0, 0.0]), (1, [0.0, 0.0, 4.0])])
def test_each_entry_is_found_on_the_process_that_holds_it(
    rank: int, found: list[float], monkeypatch: pytest.MonkeyPatch
):
    weight = held_by(rank, monkeypatch).weight
    assert entries(piece(weight), weight, torch.tensor([0, 2, 4])).tolist() == found
