"""
Sensor drift: since when do the readings differ?
================================================

A model was trained on the readings of a machine. Months later, are the readings still of the same kind? If they are
not, the model may be wrong without anybody noticing. A reading is a *time series*: half a second of vibration. The mean
and the variance of single numbers stay the same here; what changes is their rhythm.
"""

import matplotlib.pyplot as plt
import numpy as np

from similitude import drift_test
from similitude.kernels import Gaussian

# %%
# Eight weeks of readings
# -----------------------
# Each reading is a sum of two tones with random phases, plus noise. From week 5 on, a bearing wears out: the second
# tone, of 1/4 of the power, moves to a higher frequency, a little more each week.

rng = np.random.default_rng(0)
time = np.arange(60) / 120


def reading(hertz):
    """Return half a second of vibration: a tone of 6 Hz, a weaker one, and noise."""
    phases = rng.uniform(0, 2 * np.pi, 2)
    tones = np.sin(2 * np.pi * 6 * time + phases[0]) + 0.5 * np.sin(2 * np.pi * hertz * time + phases[1])
    return tones + 0.4 * rng.standard_normal(len(time))


reference = np.array([reading(14) for _ in range(150)])
second_tone = [14, 14, 14, 14, 14.5, 15, 15.5, 16]
weeks = np.repeat(np.arange(1, 9), 40)
new = np.array([reading(second_tone[week - 1]) for week in weeks])
print(f"{len(reference)} readings for reference, {len(new)} new ones in 8 weeks")
print(f"standard deviation: {reference.std():.2f} for reference, {new[weeks == 8].std():.2f} in week 8")

# %%
# A similarity that sees the rhythm
# ---------------------------------
# The phases are random, so two readings of the same kind need not agree at the same times. We compare their power
# spectra instead: ``pullback`` applies a function to each object before a kernel compares them.


def spectrum(series):
    """Return the power of each frequency, on a logarithmic scale."""
    return np.log1p(np.abs(np.fft.rfft(series - np.mean(series))) ** 2)


by_spectrum = Gaussian().pullback(spectrum)
found = drift_test(by_spectrum, reference, new, batches=weeks, random_state=0)
by_values = drift_test(Gaussian(), reference, new, batches=weeks, random_state=0)
print("weeks that differ, by the spectrum:  ", *found.drifted)
print("weeks that differ, by the raw values:", *(by_values.drifted or ["none"]))

# %%
# The p-values are corrected for the number of weeks: a week in which nothing has changed is named with a probability of
# at most 5 %, whatever happened in the others. What the test can see depends on the similarity: the raw values show a
# machine that looks as it always did.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for week, color in ((0, "tab:blue"), (8, "tab:orange")):
    of = reference if week == 0 else new[weeks == week]
    mean = np.mean([spectrum(one) for one in of], axis=0)
    axes[0].plot(np.fft.rfftfreq(60, 1 / 120), mean, color=color, label=f"week {week}" if week else "reference")
axes[0].set(xlabel="frequency in Hz", ylabel="mean log power", xlim=(0, 30), title="What has changed")
axes[0].legend()
for result, color, name in ((found, "tab:blue", "spectrum"), (by_values, "tab:gray", "raw values")):
    axes[1].semilogy(result.batches, result.p_values, "o-", color=color, label=name)
axes[1].axhline(0.05, color="tab:red", linestyle="--")
axes[1].set(xlabel="week", ylabel="corrected p-value", title="Since when (below the line: drift)")
axes[1].legend()

plt.show()
