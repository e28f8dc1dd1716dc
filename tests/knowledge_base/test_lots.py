import numpy as np

from healthgym.knowledge_base.lots import Lots


def test_names_draw_apart_and_the_same_again_for_the_same_generator():
    first, again, other = (Lots(np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first.uniform("sodium") == again.uniform("sodium") != other.uniform("sodium")
    assert first.uniform("sodium") != first.uniform("potassium")


def test_a_name_costs_the_generator_nothing():
    few, many = np.random.default_rng(3), np.random.default_rng(3)
    Lots(few).normal("a")
    lots = Lots(many)
    [lots.normal(str(name)) for name in range(100)]
    assert few.random() == many.random()


def test_normal_numbers_have_mean_0_and_deviation_1():
    lots = Lots(np.random.default_rng(0))
    values = [lots.normal(str(name)) for name in range(4000)]
    # standard error of the mean 0.016, of the deviation 0.011
    assert abs(np.mean(values)) < 0.06
    assert abs(np.std(values) - 1) < 0.05
