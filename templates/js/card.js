// What is known of a model: what was counted or measured before what its card states; null where neither is there.

export const parametersOf = (model) => model.parameters_counted ?? model.parameters ?? null;

export const conservativeOf = (model) => model.conservative_measured ?? model.conservative ?? null;
