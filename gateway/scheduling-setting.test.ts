import { expect, test } from 'vitest'
import { configFromEnv } from './config.ts'

const ENV = {
  GATEWAY_DATABASE_URL: 'mysql://weir:secret@127.0.0.1/weir',
  GATEWAY_SECRET_KEY: '0'.repeat(64),
  GATEWAY_IMAGE_DIRECTORY: '/images',
  GATEWAY_PROCESS: 'gateway-1',
  GATEWAY_NATS_URL: 'nats://127.0.0.1:4222',
}

test('cells are chosen by the policy of the settings, and by their free memory without one', () => {
  expect(configFromEnv(ENV).schedulingPolicy).toBe('filter')
  const zone = { ...ENV, GATEWAY_SCHEDULING_POLICY: 'zone' }
  expect(configFromEnv(zone).schedulingPolicy).toBe('zone')
  const unknown = { ...ENV, GATEWAY_SCHEDULING_POLICY: 'rain' }
  expect(() => configFromEnv(unknown)).toThrow(/GATEWAY_SCHEDULING_POLICY/)
})
