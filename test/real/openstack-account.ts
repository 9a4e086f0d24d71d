import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'

/**
 * What a nested driver needs to be told of an OpenStack on this machine whose credentials a variable names, by the path of
 * a file of `export OS_…=…` lines; undefined when it names none.
 */
export function openstackAccount(
  variable: 'WEIR_TEST_OPENSTACK' | 'WEIR_TEST_OPENSTACK_ADMIN' = 'WEIR_TEST_OPENSTACK',
): Readonly<Record<string, string>> | undefined {
  const path = process.env[variable]
  if (path === undefined) return undefined
  const text = readFileSync(path, 'utf8').replaceAll(/ (?=OS_)/g, '\n')
  const given = (name: string) => {
    const value = parseEnv(text)[name]
    if (value === undefined) throw new Error(`${path} says no ${name}`)
    return value
  }
  return {
    auth_url: given('OS_AUTH_URL'),
    user: given('OS_USERNAME'),
    password: given('OS_PASSWORD'),
    project: given('OS_PROJECT_NAME'),
    user_domain: given('OS_USER_DOMAIN_NAME'),
    project_domain: given('OS_PROJECT_DOMAIN_NAME'),
    region: given('OS_REGION_NAME'),
    networks: '127.0.0.0/8',
    allow_http: 'true',
    projects: 'any',
  }
}
