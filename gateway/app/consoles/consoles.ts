import type { ComputeDeps } from '../compute.ts'
import type { TokenVerifier } from '../identity/token-verifier.ts'
import { isAllowed } from '../policy.ts'
import type { ConsoleSession } from './console-session.ts'

/** What consoles need besides the compute core. */
export interface ConsoleSettings {
  /** How long a console may be opened after it was asked for, in seconds. */
  readonly tokenLifetimeS: number
  /** How many consoles of a project may be open at a time. */
  readonly openMax: number
}

export interface Consoles extends Pick<ComputeDeps, 'db' | 'cells' | 'askHost'>, ConsoleSettings {
  readonly verifier: TokenVerifier
}

const RULE = 'os_compute_api:os-remote-consoles'

/**
 * True while the token with which a console was created is valid and still grants the console: a console ends with
 * the right to it. Of a token from another Keystone, this gateway knows no more than the last answer it got.
 */
export async function mayHaveConsole(
  { verifier }: Pick<Consoles, 'verifier'>,
  { callerTokenId }: Pick<ConsoleSession, 'callerTokenId'>,
): Promise<boolean> {
  const caller = await verifier.callerOfId(callerTokenId)
  return caller === 'unknown' || (caller !== undefined && isAllowed(caller, RULE))
}
