import type { NatsConnection } from '@nats-io/transport-node'
import { connectBus } from '#common/bus/connect.ts'
import { Database } from '#common/db/database.ts'
import { EnvReader } from '#common/env.ts'
import { createLogger } from '#common/log.ts'

const CONNECTIONS = 16

export const env = new EnvReader(process.env, 'FLOOR_')

export function openDatabase(variable: string): Database {
  return new Database({ url: env.text(variable), connectionsMax: CONNECTIONS })
}

export function openBus(name: string): Promise<NatsConnection> {
  const credentialsFile = env.text('NATS_CREDENTIALS_FILE')
  return connectBus(
    { url: env.text('NATS_URL'), credentialsFile, name },
    createLogger(name, 'warn'),
  )
}
