// Facts of a model: measured values are preferred to stated ones; null if there is neither.

export const parametersOf = (model) => model.parameters_counted ?? model.parameters ?? null;

export const conservativeOf = (model) => model.conservative_measured ?? model.conservative ?? null;
