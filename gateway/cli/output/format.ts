export const FORMATS = ['table', 'wide', 'json', 'yaml', 'csv', 'name'] as const
/** `wide` is a table with every column; `csv` has all that `json` has; `name` is what other commands take, a line each. */
export type Format = (typeof FORMATS)[number]
