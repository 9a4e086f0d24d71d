import { once } from 'node:events'
import { createConnection } from 'node:net'
import { text } from 'node:stream/consumers'
import { inject } from 'vitest'
import type { NatsKeys } from '#deploy/nats/nats-keys.ts'

/** The private MariaDB and NATS of this run; they end with it. */
export interface TestServices {
  /** Scratch space of the run, removed at its end. */
  readonly directory: string
  readonly databaseRootUrl: string
  readonly natsUrl: string
  readonly natsLeafUrl: string
  readonly natsKeys: NatsKeys
}

declare module 'vitest' {
  interface ProvidedContext {
    servicesSocket: string
  }
}

const START_LIMIT_MS = 60_000

/** The services of this run, started by the first test file that asks. */
export async function testServices(): Promise<TestServices> {
  const client = createConnection(inject('servicesSocket'))
  const signal = AbortSignal.timeout(START_LIMIT_MS)
  await once(client, 'connect', { signal })
  signal.addEventListener('abort', () => client.destroy(new Error('No services in time')))
  const answer = JSON.parse(await text(client)) as { services?: TestServices; error?: string }
  if (answer.services === undefined) throw new Error(`No test services: ${answer.error}`)
  return answer.services
}
