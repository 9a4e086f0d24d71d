import { join } from 'node:path'
import { configFromEnv } from '#gateway/config.ts'
import { createGateway } from '#gateway/context.ts'
import { listen } from '#gateway/listen.ts'
import type { Foundation } from './foundation.ts'
import type { CloudOptions } from './options.ts'
import type { Program } from './program.ts'

/** The nth gateway, listening on this loopback port. */
export async function gatewayProgram(
  foundation: Foundation,
  options: CloudOptions,
  { nth, port }: { readonly nth: number; readonly port: number },
): Promise<Program> {
  const { services, bus, databaseUrl, secretKey, directory } = foundation
  const isOutside = options.outside?.includes('gateway') === true
  return {
    name: `gateway-${nth}`,
    script: 'gateway/main.ts',
    settings: {
      GATEWAY_PORT: String(port),
      GATEWAY_DATABASE_URL: databaseUrl,
      GATEWAY_SECRET_KEY: secretKey,
      GATEWAY_IMAGE_DIRECTORY: join(directory, 'images'),
      GATEWAY_NATS_URL: services.natsUrl,
      GATEWAY_NATS_CREDENTIALS_FILE: await bus.gatewayCredentialsFile(),
      ...(await bus.operatorEnv()),
      GATEWAY_NATS_LEAF_URL: services.natsLeafUrl,
      GATEWAY_PROCESS: `gateway-${nth}`,
      GATEWAY_LOG_LEVEL: isOutside ? 'debug' : 'error',
      ...options.gateway,
    },
    wires: ['GATEWAY_DATABASE_URL', 'GATEWAY_NATS_URL'],
    inside: async (env) => {
      await using parts = new AsyncDisposableStack()
      const gateway = parts.use(await createGateway(configFromEnv(env)))
      parts.use(await listen(gateway))
      return parts.move()
    },
    serves: 'gateway listens',
  }
}
