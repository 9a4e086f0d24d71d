import { workContext } from '#common/context.ts'
import type { UserId } from '#common/ids.ts'
import { ANONYMOUS, type RequestContext } from '../request-context.ts'

/** The operator who began an operation, as an administrator of every project, with a request of its own. */
export function operatorOf({ userId }: { readonly userId: string | null }): RequestContext {
  const operator = { userId: (userId ?? '') as UserId, isAdmin: true, roles: new Set(['admin']) }
  return { ...ANONYMOUS, ...operator, ...workContext({}), microversion: '' }
}
