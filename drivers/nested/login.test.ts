import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { sealLogin } from '../cloud-login.ts'
import { nestedSettings } from './settings.ts'

const KEY = 'ab'.repeat(32)
const login = (secret: string) => {
  return { application_credential_id: 'id', application_credential_secret: secret }
}

let directory: string
let settings: Readonly<Record<string, string>>

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'weir-login-'))
  const at = (name: string) => join(directory, name)
  settings = {
    ...{ auth_url: 'https://cloud.example/', projects: 'any' },
    ...{ login_file: at('login'), login_key_file: at('key') },
  }
  writeFileSync(at('key'), `${KEY}\n`)
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))
const write = (content: string) => writeFileSync(join(directory, 'login'), content)

test('a sealed login hides its secret, and a replaced one is the next one used', () => {
  const sealed = sealLogin(login('canary'), KEY)
  write(sealed)
  const read = nestedSettings(settings)

  expect(sealed).not.toContain('canary')
  expect(read.login()).toMatchObject({ kind: 'application-credential', secret: 'canary' })
  write(sealLogin(login('newer'), KEY))
  expect(read.login()).toMatchObject({ secret: 'newer' })
})

test.each([
  [
    'sealed with another key',
    () => sealLogin(login('canary'), 'cd'.repeat(32)),
    'cannot be opened',
  ],
  ['without its secret', () => sealLogin({ application_credential_id: 'id' }, KEY), 'is not set'],
])('a login %s is refused at start', (_what, content, message) => {
  write(content())

  expect(() => nestedSettings(settings)).toThrow(message)
})
