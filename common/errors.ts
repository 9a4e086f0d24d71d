/** Every way an operation can fail, as far as any program needs to tell them apart. */
export const ERROR_KINDS = [
  'invalid',
  'unauthenticated',
  'forbidden',
  'not-found',
  'conflict',
  'over-quota',
  'too-large',
  'no-capacity',
  'unsupported',
  'unavailable',
  'internal',
] as const
export type ErrorKind = (typeof ERROR_KINDS)[number]

export interface FailureOptions extends ErrorOptions {
  /** For operators only; never leaves the process in a response. */
  readonly detail?: string
}

/** An expected failure. Anything else that is thrown is a bug and becomes `internal` at the edge. */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly kind: ErrorKind
  readonly detail: string | undefined

  constructor(kind: ErrorKind, message: string, options: FailureOptions = {}) {
    super(message, options)
    this.kind = kind
    this.detail = options.detail
  }
}

/** True for a `Failure` of one of these kinds. */
export function isFailure(error: unknown, ...kinds: ErrorKind[]): error is Failure {
  return error instanceof Failure && (kinds.length === 0 || kinds.includes(error.kind))
}

const CHAIN_MAX = 10

/** For logs: `a: b: c.`, outermost first. Messages never repeat their cause; only this joins them. */
export function errorChain(error: unknown): string {
  const links: string[] = []
  for (let e: unknown = error; e !== undefined && links.length < CHAIN_MAX; ) {
    links.push(linkText(e))
    e = e instanceof Error ? e.cause : undefined
  }
  const last = links.pop() ?? ''
  return [...links.map((link) => link.replace(/\.$/, '')), last].join(': ')
}

function linkText(e: unknown): string {
  if (e instanceof Failure && e.detail !== undefined) return `${e.message} (${e.detail})`
  if (e instanceof AggregateError) return `${e.message} [${e.errors.map(errorChain).join('; ')}]`
  return e instanceof Error ? e.message : `not an Error: ${JSON.stringify(e)}`
}
