import type { UserOptions as OptionsBody, UserChange } from '#openapi/identity.gen.ts'
import type { ChangedOptions } from '../../../app/identity/change-users.ts'
import type { Extra } from '../../../app/identity/model.ts'

/** The options given; null means what they are without being set. */
export function userOptions(options: OptionsBody | undefined): ChangedOptions {
  return Object.fromEntries(
    Object.entries(options ?? {}).map(([name, value]) => [name, value ?? undefined]),
  )
}

/** The client's own properties: all but the known ones. */
export function userExtra({
  name: _name,
  password: _password,
  email: _email,
  description: _description,
  enabled: _enabled,
  options: _options,
  domain_id: _domain,
  default_project_id: _project,
  ...extra
}: UserChange): Extra {
  return extra
}
