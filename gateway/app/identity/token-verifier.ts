import type { Caller } from '../request-context.ts'

/** Tells who holds a token. */
export interface TokenVerifier {
  /** Undefined when the token is unknown, expired or revoked; throws `unavailable` when that cannot be found out. */
  callerOf(token: string): Promise<Caller | undefined>
  /** As `callerOf`, by the token's id; 'unknown' where only the token itself would tell. */
  callerOfId(tokenId: string): Promise<Caller | undefined | 'unknown'>
}
