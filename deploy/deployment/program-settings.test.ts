import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { settingsDigest } from '../processes/program.ts'
import { changedSettings, settingsFor } from './program-settings.ts'

test('settings are kept, replaced, and usual again when empty', async () => {
  const first = await changedSettings({}, ['GATEWAY_REGION=East', 'CELL_LOG_LEVEL=debug'])
  expect(first).toEqual({ GATEWAY_REGION: 'East', CELL_LOG_LEVEL: 'debug' })

  const next = await changedSettings(first, ['GATEWAY_REGION=', 'COMPUTE_LOG_LEVEL=warn'])
  expect(next).toEqual({ CELL_LOG_LEVEL: 'debug', COMPUTE_LOG_LEVEL: 'warn' })
})

test.each([
  ['GATEWAY_REGOIN=East', 'GATEWAY_REGOIN is not a known setting; did you mean GATEWAY_REGION?'],
  ['CELL_LOG_LEVEL=loud', 'CELL_LOG_LEVEL: loud is none of'],
  ['GATEWAY_CONSOLE_OPEN_MAX=0', 'GATEWAY_CONSOLE_OPEN_MAX: 0 is not an integer from 1 to'],
  ['PATH=/tmp', 'PATH: settings begin with GATEWAY_'],
  ['GATEWAY_REGION', 'give NAME=VALUE'],
  ['OTEL_SERVICE_NAME=weir', 'OTEL_SERVICE_NAME is not a known setting'],
  ['GATEWAY_TRACE_SAMPLE_RATIO=2', 'GATEWAY_TRACE_SAMPLE_RATIO: 2 is not a number from 0 to 1'],
])('%s is refused', async (text, why) => {
  await expect(changedSettings({}, [text])).rejects.toMatchObject({
    kind: 'invalid',
    message: expect.stringContaining(why) as string,
  })
})

test('a program gets its own settings, and none that the deployment sets', () => {
  const chosen = { GATEWAY_REGION: 'East', CELL_LOG_LEVEL: 'debug' }

  expect(settingsFor('CELL_', chosen, { CELL_NAME: 'north' })).toEqual({
    CELL_NAME: 'north',
    CELL_LOG_LEVEL: 'debug',
  })
  const collector = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }
  for (const prefix of ['GATEWAY_', 'CELL_', 'COMPUTE_'])
    expect(settingsFor(prefix, collector, {})).toEqual(collector)
  expect(() => settingsFor('GATEWAY_', chosen, { GATEWAY_REGION: 'RegionOne' })).toThrow(
    './weir up --set GATEWAY_REGION=',
  )
})

test('settingsDigest() includes the content of files that settings name, and whether they exist', () => {
  const directory = mkdtempSync(join(tmpdir(), 'weir-digest-'))
  const file = join(directory, 'ca.pem')
  const settings = { COMPUTE_DRIVER_CA_FILE: file }
  const digest = () => settingsDigest({ name: 'compute-lab-1', script: 'main.ts', settings })
  const absent = digest()
  writeFileSync(file, 'one')
  const one = digest()
  writeFileSync(file, 'two')

  expect(new Set([absent, one, digest()]).size).toBe(3)
  rmSync(directory, { recursive: true })
  expect(digest()).toBe(absent)
})
