import type { NamedReference, Reference } from '#openapi/identity.gen.ts'
import type { DomainRef, NamedRef } from '../../app/identity/token-view.ts'

export function reference({ id, name }: DomainRef): Reference {
  return { id, name }
}

export function namedReference({ id, name, domain }: NamedRef): NamedReference {
  return { id, name, domain: reference(domain) }
}
