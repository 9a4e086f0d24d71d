import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createAccount, createOperator, fromSeed, type KeyPair } from '@nats-io/nkeys'
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
