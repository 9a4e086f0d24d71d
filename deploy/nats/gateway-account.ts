import { encodeAccount } from '@nats-io/jwt'
import { gatewayAccount } from '#gateway/bus/accounts.ts'
import { keyPair, type NatsKeys } from './nats-keys.ts'

/** A file of the folder of a server. */
interface AccountFile {
  /** Within the folder. */
  readonly name: string
  readonly content: string
}

/**
 * The gateways' account without cells, where a server that starts finds it: so gateways can connect to a new bus, and
 * push the accounts. Not in the server's configuration, which would put it in place of what they have pushed, at each
 * start.
 */
export async function gatewayAccountFile(keys: NatsKeys): Promise<AccountFile> {
  const signer = keyPair(keys.operatorSeed)
  const publicKey = keyPair(keys.gatewaySeed).getPublicKey()
  const content = await encodeAccount('gateway', publicKey, gatewayAccount([]), { signer })
  return { name: `accounts/${publicKey}.jwt`, content }
}
