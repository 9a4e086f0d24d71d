import { ERROR_KINDS, type ErrorKind, Failure } from '../errors.ts'

/** The wrapper of every reply on the bus, so that a failure keeps its kind from level to level. */
export type Envelope =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly kind: ErrorKind; readonly message: string }

const KINDS: ReadonlySet<string> = new Set(ERROR_KINDS)

/** The value of a reply; throws the failure that it carries, or `unavailable` for an unknown form of reply. */
export function openEnvelope(envelope: unknown): unknown {
  const e = envelope as Partial<Record<'ok' | 'value' | 'kind' | 'message', unknown>> | null
  if (e?.ok === true) return e.value
  if (e?.ok === false && typeof e.kind === 'string' && KINDS.has(e.kind))
    throw new Failure(e.kind as ErrorKind, String(e.message))
  throw new Failure('unavailable', 'The answer could not be understood.')
}
