import { randomBytes } from 'node:crypto'
import { Database } from '#common/db/database.ts'
import { migrateDatabase } from '#common/db/migrate.ts'
import { type Env, EnvReader, SettingsError } from '#common/env.ts'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { configFromEnv } from '#gateway/config.ts'
import { say } from '../cli/say.ts'
import { keepAccounts } from '../up/prepare-bus.ts'

const CONNECTIONS = 2
const PASSWORD_BYTES = 24

/**
 * Afterwards gateways with these settings can start: the global database has every table and its administrator, and the bus
 * knows the gateways and all cells. What exists is left as it is, so any number of these may run at once and again.
 */
export async function bootstrapGateway(env: Env): Promise<void> {
  const { databaseUrl, natsUrl, natsAccountSeed, natsOperator } = configFromEnv(env)
  const read = new EnvReader(env, 'WEIR_')
  const adminPassword = read.secret('ADMIN_PASSWORD')
  read.finish()
  if (natsAccountSeed === undefined || natsOperator?.systemSeed === undefined)
    throw new SettingsError([
      'GATEWAY_NATS_ACCOUNT_SEED, GATEWAY_NATS_OPERATOR_SEED and GATEWAY_NATS_SYSTEM_SEED are needed to make the accounts of the bus',
    ])
  await migrateDatabase(databaseUrl, 'gateway/db/migrations')
  await using db = new Database({ url: databaseUrl, connectionsMax: CONNECTIONS })
  // Only an administrator gives the demo user a password that somebody knows.
  const demoPassword = randomBytes(PASSWORD_BYTES).toString('hex')
  const { adminExisted } = await bootstrapIdentity(db, { adminPassword, demoPassword })
  const keys = {
    operatorSeed: natsOperator.seed,
    systemSeed: natsOperator.systemSeed,
    gatewaySeed: natsAccountSeed,
  }
  await keepAccounts({ url: natsUrl, keys }, db)
  const admin = adminExisted ? 'The user admin keeps its password.' : 'The user admin was created.'
  say(`The database has every table of this release, and the bus every account. ${admin}`)
}
