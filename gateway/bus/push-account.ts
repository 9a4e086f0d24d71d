import { type Account, encodeAccount } from '@nats-io/jwt'
import type { NatsConnection } from '@nats-io/transport-node'
import { nativeKeyPair } from '#common/bus/native-key-pair.ts'
import { Failure } from '#common/errors.ts'

/** The right to change accounts on running NATS servers. */
export interface BusOperator {
  /** A connection in the system account. */
  readonly system: NatsConnection
  /** Private nkey of the operator (`SO…`): every account is signed with it. */
  readonly operatorSeed: string
}

/** The server's answer on `$SYS.REQ.CLAIMS.UPDATE`: `data` when it took the account, else `error`. */
interface ClaimsAnswer {
  readonly data?: { readonly code: number }
  readonly error?: { readonly description: string }
}

const ANSWER_LIMIT_MS = 2_000

/**
 * Afterwards the NATS servers use these claims for the account, now and after a restart, without a reload and
 * without touching other accounts. Repeating is harmless; claims older than the stored ones are ignored. Throws
 * `unavailable` when no server takes them.
 */
export async function pushAccount(
  operator: BusOperator,
  name: string,
  publicKey: string,
  claims: Partial<Account>,
): Promise<void> {
  const signer = nativeKeyPair(operator.operatorSeed)
  const jwt = await encodeAccount(name, publicKey, claims, { signer })
  const reply = await operator.system
    .request('$SYS.REQ.CLAIMS.UPDATE', jwt, { timeout: ANSWER_LIMIT_MS })
    .catch((cause: unknown) => {
      throw new Failure('unavailable', `The bus did not accept account ${name}`, { cause })
    })
  const answer = reply.json<ClaimsAnswer>()
  if (answer.data?.code !== 200)
    throw new Failure('unavailable', `The bus refused account ${name}`, {
      detail: answer.error?.description ?? reply.string(),
    })
}
