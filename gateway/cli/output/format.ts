export const FORMATS = ['table', 'wide', 'json', 'yaml', 'name'] as const
/** `wide` is a table with every column; `name` is what other commands take, a line each. */
export type Format = (typeof FORMATS)[number]
