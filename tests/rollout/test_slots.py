"""Slots of the cache: who owns which, and how much of it may be trusted."""

import numpy as np

from healthgym.rollout.slots import Slots


def ids(*tokens):
    return np.array(tokens, np.int32)


def filled(count=3):
    slots = Slots(count)
    slots.reserve(200)
    return slots


def test_the_longest_prefix_never_reaches_past_what_a_slot_has_seen():
    slots = filled()
    slots.write(1, 0, ids(1, 2, 3, 4, 5))
    assert slots.longest_prefix(ids(1, 2, 3, 9)) == (1, 3)
    assert slots.longest_prefix(ids(1, 2, 3)) == (1, 2)  # one token stays to be run
    slots.keep_common(1, ids(1, 2, 8))  # tokens 3, 4, 5 are still noted, but their places may be overwritten
    assert slots.length[1] == 2 and slots.longest_prefix(ids(1, 2, 3, 4, 5)) == (1, 2)


def test_a_prompt_already_seen_whole_keeps_one_token_to_run():
    slots = filled()
    slots.write(0, 0, ids(1, 2, 3))
    slots.keep_common(0, ids(1, 2, 3))
    assert slots.length[0] == 2


def test_an_episode_keeps_its_slot_and_the_idlest_one_gives_way():
    slots = filled(2)
    assert [slots.acquire(key, ()) for key in (7, 8, 7)] == [0, 1, 0]
    assert slots.acquire(9, {0, 1}) is None  # both are being written
    assert slots.acquire(9, {0}) == 1 and set(slots.open) == {7, 9}  # 8 was the least recently used
    assert slots.acquire(8, ()) == 0  # now 7 is


def test_freed_slots_are_taken_lowest_first():
    slots = filled()
    for key in (1, 2, 3):
        slots.acquire(key, ())
    assert [slots.release(key) for key in (3, 1, 5)] == [2, 0, None]
    assert slots.acquire(4, ()) == 0


def test_newcomers_wait_only_for_a_prefix_worth_waiting_for():
    slots, long = filled(), np.arange(100, dtype=np.int32)
    same, short, other = long.copy(), np.append(long[:40], ids(7, 7)), long + 200
    assert slots.first_round([long, same, short, other], "abcd") == (["a", "c", "d"], ["b"])
    slots.write(0, 0, long)  # once a slot holds it, nobody waits
    assert slots.first_round([long, same], "ab") == (["a", "b"], [])
