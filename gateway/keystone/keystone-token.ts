import { type Static, Type } from 'typebox'
import type { ProjectId, UserId } from '#common/ids.ts'
import type { Caller } from '../app/request-context.ts'

const Named = Type.Object({ id: Type.String(), name: Type.String() })
const InDomain = Type.Object({ id: Type.String(), name: Type.String(), domain: Named })

/** What of Keystone's answer about a token counts here (`GET /v3/auth/tokens`). */
export const KeystoneToken = Type.Object({
  expires_at: Type.String(),
  user: InDomain,
  project: Type.Optional(InDomain),
  domain: Type.Optional(Named),
  system: Type.Optional(Type.Object({ all: Type.Optional(Type.Boolean()) })),
  /** With those that others imply. */
  roles: Type.Optional(Type.Array(Named)),
  application_credential: Type.Optional(
    Type.Object({
      restricted: Type.Optional(Type.Boolean()),
      access_rules: Type.Optional(
        Type.Array(
          Type.Object({
            id: Type.String(),
            service: Type.String(),
            method: Type.String(),
            path: Type.String(),
          }),
        ),
      ),
    }),
  ),
})
export type KeystoneToken = Static<typeof KeystoneToken>

/** Who holds the token. `tokenId`: what it is cached under. */
export function callerFrom(token: KeystoneToken, tokenId: string): Caller {
  const { user, project, domain, system, application_credential: credential } = token
  const roles = new Set((token.roles ?? []).map(({ name }) => name))
  return {
    userId: user.id as UserId,
    userName: user.name,
    userDomainId: user.domain.id,
    userDomainName: user.domain.name,
    projectId: (project?.id ?? null) as ProjectId | null,
    projectName: project?.name ?? null,
    projectDomainId: project?.domain.id ?? null,
    projectDomainName: project?.domain.name ?? null,
    domainId: domain?.id ?? null,
    domainName: domain?.name ?? null,
    isSystemScoped: system?.all === true,
    roles,
    isAdmin: roles.has('admin') && domain === undefined,
    mayDelegate: credential === undefined || credential.restricted === false,
    accessRules: credential?.access_rules ?? null,
    applicationCredentialId: null,
    trustId: null,
    isExternal: true,
    tokenId,
  }
}
