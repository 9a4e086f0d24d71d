import { readFileSync } from 'node:fs'
import { EnvReader } from '#common/env.ts'
import { secretsOf } from '#common/secrets.ts'

/** How to get a token of the nested cloud: an application credential, or a user's password and a project. */
export type CloudLogin =
  | { readonly kind: 'application-credential'; readonly id: string; readonly secret: string }
  | {
      readonly kind: 'password'
      readonly user: string
      readonly password: string
      readonly userDomain: string
      readonly project: string
      readonly projectDomain: string
    }

/** Read for every token, so that a file replaced while the host runs has effect. Throws for content that is not a login. */
export type LoginSource = () => CloudLogin

/** The purpose under which a login is sealed. */
const PURPOSE = 'login of a cloud'

/** From `login_file`, which is sealed with `login_key_file` if there is one; else from the settings themselves. */
export function loginSource(reader: EnvReader): LoginSource {
  const file = reader.optionalText('login_file')
  const keyFile = reader.optionalText('login_key_file')
  if (file !== undefined) return () => loginIn(file, keyFile)
  const login = loginOf(reader)
  return () => login
}

/** The content of `login_file`: the settings of a login by name, sealed with the key. */
export function sealLogin(login: Readonly<Record<string, string>>, hexKey: string): string {
  return secretsOf(hexKey).seal(JSON.stringify(login), PURPOSE)
}

function loginIn(file: string, keyFile: string | undefined): CloudLogin {
  const content = readFileSync(file, 'utf8').trim()
  const text =
    keyFile === undefined
      ? content
      : secretsOf(readFileSync(keyFile, 'utf8').trim()).open(content, PURPOSE)
  const reader = new EnvReader(JSON.parse(text) as Readonly<Record<string, string>>, '')
  const login = loginOf(reader)
  reader.finish()
  return login
}

function loginOf(reader: EnvReader): CloudLogin {
  const id = reader.optionalText('application_credential_id')
  if (id !== undefined)
    return {
      kind: 'application-credential',
      id,
      secret: reader.secret('application_credential_secret'),
    }
  return {
    kind: 'password',
    user: reader.text('user'),
    password: reader.secret('password'),
    userDomain: reader.text('user_domain', 'Default'),
    project: reader.text('project'),
    projectDomain: reader.text('project_domain', 'Default'),
  }
}
