import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createAccount, createOperator, fromSeed, type KeyPair } from '@nats-io/nkeys'
import { Failure } from '#common/errors.ts'
import { writeFileAtomically } from '../process/write-file-atomically.ts'

/** The keys every account and every credential of one bus descends from. Secrets. */
export interface NatsKeys {
  readonly operatorSeed: string
  readonly systemSeed: string
  readonly gatewaySeed: string
}

/** The keys kept in `directory` (0600), made on first use. */
export function natsKeys(directory: string): NatsKeys {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  return {
    operatorSeed: keepSeed(operatorSeedFile(directory), createOperator),
    systemSeed: keepSeed(accountSeedFile(directory, 'system'), createAccount),
    gatewaySeed: keepSeed(accountSeedFile(directory, 'gateway'), createAccount),
  }
}

/** Afterwards `directory` has these keys (0600), which are those of a bus elsewhere. Throws `conflict` where it has others. */
export function takeKeys(directory: string, keys: NatsKeys): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const files = [
    [operatorSeedFile(directory), keys.operatorSeed],
    [accountSeedFile(directory, 'system'), keys.systemSeed],
    [accountSeedFile(directory, 'gateway'), keys.gatewaySeed],
  ] as const
  for (const [file, seed] of files) {
    if (!existsSync(file)) writeFileAtomically(file, seed)
    else if (readFileSync(file, 'utf8').trim() !== seed)
      throw new Failure(
        'conflict',
        `${file} is a key of another bus. To make this server a member of the cluster, use an empty directory.`,
      )
  }
}

/** Where the operator's seed is kept. */
export function operatorSeedFile(directory: string): string {
  return `${directory}/operator.nk`
}

/** Where the seed of the system's account, or of the gateways', is kept. */
export function accountSeedFile(directory: string, account: 'system' | 'gateway'): string {
  return `${directory}/${account}-account.nk`
}

/** The key pair of a seed. */
export function keyPair(seed: string): KeyPair {
  return fromSeed(new TextEncoder().encode(seed))
}

function keepSeed(file: string, create: () => KeyPair): string {
  if (!existsSync(file)) writeFileAtomically(file, new TextDecoder().decode(create().getSeed()))
  return readFileSync(file, 'utf8').trim()
}
