/** The entry of a table under a name that a user chose: undefined for names that every object has, such as `constructor`. */
export function own<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}
