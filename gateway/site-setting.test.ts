import { expect, test } from 'vitest'
import { configFromEnv } from './config.ts'

const ENV = {
  GATEWAY_DATABASE_URL: 'mysql://weir:secret@127.0.0.1/weir',
  GATEWAY_SECRET_KEY: '0'.repeat(64),
  GATEWAY_IMAGE_DIRECTORY: '/images',
  GATEWAY_PROCESS: 'gateway-1',
  GATEWAY_NATS_URL: 'nats://127.0.0.1:4222',
}
const siteOf = (site: string) => configFromEnv({ ...ENV, GATEWAY_SITE: site }).site

test('a site has the name of the settings, or none', () => {
  expect(configFromEnv(ENV).site).toBeUndefined()
  expect(siteOf('north-1')).toBe('north-1')
  expect(siteOf('n'.repeat(32))).toBe('n'.repeat(32))
})

test.each(['North', '-north', 'n'.repeat(33), 'north south'])('%j is no name of a site', (name) => {
  expect(() => siteOf(name)).toThrow(/GATEWAY_SITE/)
})
