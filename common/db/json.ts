/** A JSON column as read: MariaDB hands it over as text, MySQL parsed. */
export function parseJson<T>(value: unknown): T {
  return (typeof value === 'string' ? JSON.parse(value) : value) as T
}
