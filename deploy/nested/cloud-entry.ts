import { resolve } from 'node:path'
import { Failure } from '#common/errors.ts'
import type { CloudEntry as Entry } from '#gateway/cli/cloud/clouds-file.ts'

/** A cloud of clouds.yaml in the form of the driver `nested`: the login, and all other settings. */
export interface CloudEntry {
  readonly login: Readonly<Record<string, string>>
  readonly settings: Readonly<Record<string, string>>
}

type Texts = Readonly<Record<string, string | undefined>>

/** Throws `invalid` for an entry that lacks a property that a host needs, or has one that a host would ignore. */
export function cloudEntry(entry: Entry): CloudEntry {
  const { auth = {} } = entry
  if (entry.verify === false || entry.insecure === true)
    throw new Failure(
      'invalid',
      'Certificates are always verified: set cacert instead of verify: false.',
    )
  const cacert = entry.cacert === undefined ? undefined : resolve(entry.cacert)
  return {
    login: auth['application_credential_id'] === undefined ? passwordLogin(auth) : credential(auth),
    settings: given({
      auth_url: needed(auth, 'auth_url'),
      region: entry.region_name,
      interface: entry.interface,
      ca_file: cacert,
    }),
  }
}

function credential(auth: Texts): Readonly<Record<string, string>> {
  const names = ['application_credential_id', 'application_credential_secret']
  return Object.fromEntries(names.map((name) => [name, needed(auth, name)]))
}

function passwordLogin(auth: Texts): Readonly<Record<string, string>> {
  return given({
    user: needed(auth, 'username'),
    password: needed(auth, 'password'),
    project: needed(auth, 'project_name'),
    user_domain: domainOf(auth, 'user_domain'),
    project_domain: domainOf(auth, 'project_domain'),
  })
}

/** Of all ids only that of Keystone's first domain is a name as well. */
function domainOf(auth: Texts, what: 'user_domain' | 'project_domain'): string | undefined {
  const name = auth[`${what}_name`]
  const id = auth[`${what}_id`]
  if (name === undefined && id !== undefined && id !== 'default')
    throw new Failure('invalid', `clouds.yaml: name the domain in ${what}_name, not by its id.`)
  return name ?? id
}

function needed(auth: Texts, name: string): string {
  const value = auth[name]
  if (value !== undefined) return value
  throw new Failure('invalid', `clouds.yaml: auth has no ${name}.`)
}

function given(texts: Texts): Readonly<Record<string, string>> {
  const entries = Object.entries(texts).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as Readonly<Record<string, string>>
}
