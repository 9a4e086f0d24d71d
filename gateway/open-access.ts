import { readFileSync } from 'node:fs'
import { parseCreds } from '@nats-io/jwt'
import { connectBus } from '#common/bus/connect.ts'
import { renewWithSeed } from '#common/bus/keep-credential.ts'
import { systemClock } from '#common/clock.ts'
import type { Database } from '#common/db/database.ts'
import type { Logger } from '#common/log.ts'
import { RunningReconciler } from '#common/reconciler.ts'
import { secretsOf } from '#common/secrets.ts'
import { AccountPublisher } from './bus/account-keeper.ts'
import { CellAccess } from './cell-client/cell-access.ts'
import type { GatewayConfig, NatsOperator } from './config.ts'
import { listKeptAccounts } from './db/cell-accounts.ts'

/** How late the bus may follow what another gateway decided and could not tell it. */
const KEPT_MS = 5_000

/** Who may be on the bus, kept so from now on by this gateway too if it holds the right to. */
export async function openAccess(
  parts: AsyncDisposableStack,
  config: GatewayConfig,
  db: Database,
  log: Logger,
): Promise<CellAccess> {
  const { natsOperator, natsCredentialsFile } = config
  const secrets = secretsOf(config.secretKey)
  if (natsOperator === undefined || natsCredentialsFile === undefined)
    return new CellAccess(secrets, undefined)
  const { aid: gatewayKey } = await parseCreds(readFileSync(natsCredentialsFile))
  const system = await connectSystem(parts, config, natsOperator, log, () => {
    keeper.forget()
    kept.wake()
  })
  const operator = { system, operatorSeed: natsOperator.seed }
  const written = () => listKeptAccounts(db)
  const keeper = new AccountPublisher(operator, gatewayKey, written)
  const round = async () => ({ changed: await keeper.keep() })
  const reconciler = { name: 'bus accounts', everyMs: KEPT_MS, round }
  const kept = parts.use(new RunningReconciler(reconciler, systemClock, log))
  const { credentialLifetimeS } = natsOperator
  return new CellAccess(secrets, { gatewayKey, keeper, credentialLifetimeS })
}

async function connectSystem(
  parts: AsyncDisposableStack,
  { natsUrl: url, processName }: GatewayConfig,
  { systemCredentialsFile: credentialsFile, systemSeed }: NatsOperator,
  log: Logger,
  onReconnect: () => void,
) {
  const name = `${processName} accounts`
  const renew = systemSeed === undefined ? undefined : renewWithSeed(systemSeed)
  const nats = await connectBus({ url, credentialsFile, renew, name, onReconnect }, log)
  parts.defer(() => nats.close())
  return nats
}
