import { type Static, Type } from 'typebox'
import { type Caller, callerOfScope } from '../app/request-context.ts'

const Named = Type.Object({ id: Type.String(), name: Type.String() })
const InDomain = Type.Object({ id: Type.String(), name: Type.String(), domain: Named })

/** The used part of Keystone's answer about a token (`GET /v3/auth/tokens`). */
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
  const { user, project, domain, system, roles, application_credential: credential } = token
  return {
    ...callerOfScope({
      user,
      project: project ?? null,
      domain: domain ?? null,
      isSystemScoped: system?.all === true,
      roles: roles ?? [],
    }),
    mayDelegate: credential === undefined || credential.restricted === false,
    accessRules: credential?.access_rules ?? null,
    applicationCredentialId: null,
    trustId: null,
    isExternal: true,
    tokenId,
  }
}
