/** The message of a fault in the envelope of any service; '' of what is none. */
export function messageOf(body: unknown): string {
  const [inner] = Object.values((body ?? {}) as Readonly<Record<string, unknown>>)
  const one = Array.isArray(inner) ? inner[0] : inner
  const { message, detail } = (one ?? {}) as { message?: unknown; detail?: unknown }
  const said = message ?? detail
  return typeof said === 'string' ? said : ''
}
