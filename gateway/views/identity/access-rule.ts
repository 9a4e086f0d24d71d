import type { AccessRule as AccessRuleBody } from '#openapi/identity.gen.ts'
import type { AccessRule } from '../../app/identity/access-rule.ts'

/** A rule within the credential or token that has it. */
export function accessRuleView({ id, service, path, method }: AccessRule): AccessRuleBody {
  return { id, service, path, method }
}
