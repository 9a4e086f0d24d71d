import { randomBytes } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { freshBus } from './fresh-bus.ts'
import { testServices } from './services.ts'

/** The settings that every gateway in a test needs. Gateways of one deployment share the result of one call. */
export async function gatewayEnv(databaseUrl: string): Promise<Readonly<Record<string, string>>> {
  const { directory } = await testServices()
  await using bus = await freshBus()
  return {
    GATEWAY_PROCESS: 'gateway-1',
    GATEWAY_NATS_URL: bus.url,
    GATEWAY_NATS_CREDENTIALS_FILE: await bus.gatewayCredentialsFile(),
    GATEWAY_PORT: '0',
    GATEWAY_DATABASE_URL: databaseUrl,
    GATEWAY_DATABASE_CONNECTIONS: '4',
    GATEWAY_DATABASE_RETRY_MS: '500',
    GATEWAY_LOG_LEVEL: 'error',
    // Tests make servers that were deleted at fixed dates, and a purge may come at any time.
    GATEWAY_RETENTION_DELETED_SERVERS_DAYS: '3650',
    GATEWAY_SECRET_KEY: randomBytes(32).toString('hex'),
    GATEWAY_IMAGE_DIRECTORY: mkdtempSync(join(directory, 'images-')),
  }
}
