/** The message of a fault in the envelope of any service; '' if the body is not a fault. */
export function messageOf(body: unknown): string {
  const outer = (body ?? {}) as Readonly<Record<string, unknown>>
  const [inner] = Object.values(outer)
  const { message, detail } = {
    ...outer,
    ...((Array.isArray(inner) ? inner[0] : inner) as object | undefined),
  } as { message?: unknown; detail?: unknown }
  const text = message ?? detail
  return typeof text === 'string' ? text : ''
}
