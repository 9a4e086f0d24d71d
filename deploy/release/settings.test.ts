import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { configFromEnv as computeConfig } from '#cells/compute/config.ts'
import { configFromEnv as cellConfig } from '#cells/config.ts'
import { fakeSettings } from '#drivers/fake/settings.ts'
import { configFromEnv as gatewayConfig } from '#gateway/config.ts'
import { projectRoot } from '../paths.ts'

// Goal: a program starts with the settings that come with its package, once the secrets that they name are there.

const directory = mkdtempSync(join(tmpdir(), 'weir-settings-'))

afterAll(() => rmSync(directory, { recursive: true }))

const CONTENTS: readonly (readonly [RegExp, string])[] = [
  [/_DATABASE_URL_FILE$/, 'mysql://weir:password@127.0.0.1/weir'],
  [/_SECRET_KEY_FILE$/, 'ab'.repeat(32)],
]

/** As systemd reads them, with secrets in files of the test. */
function settingsIn(name: string): Readonly<Record<string, string>> {
  const text = readFileSync(join(projectRoot, 'deploy/debian/files', name), 'utf8')
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return Object.fromEntries(
    lines.map((line) => {
      const [, setting = '', value = ''] = /^(\w+)=(.*)$/.exec(line) ?? []
      if (!setting.endsWith('_FILE')) return [setting, value]
      const file = join(directory, setting)
      const [, content = 'secret'] = CONTENTS.find(([pattern]) => pattern.test(setting)) ?? []
      writeFileSync(file, content)
      return [setting, file]
    }),
  )
}

test.each([
  ['gateway.env', gatewayConfig],
  ['cell.env', cellConfig],
  [
    'compute.env',
    (env: Readonly<Record<string, string>>) => fakeSettings(computeConfig(env).driverSettings),
  ],
] as const)('%s has every setting that its program needs, and no other', (name, configFromEnv) => {
  const settings = settingsIn(name)

  expect(Object.keys(settings).length).toBeGreaterThan(5)
  expect(() => configFromEnv(settings)).not.toThrow()
})
