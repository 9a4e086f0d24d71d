/** The attributes of a view that `fields` names; all if it names none. */
export function pick<T extends object>(view: T, fields: readonly string[] | undefined): Partial<T> {
  if (fields === undefined || fields.length === 0) return view
  const asked = new Set(fields)
  return Object.fromEntries(Object.entries(view).filter(([name]) => asked.has(name))) as Partial<T>
}
