/**
 * What a table holds under a name that somebody else chose: undefined for one that only every object has, such as
 * `constructor`.
 */
export function own<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}
