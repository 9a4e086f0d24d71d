import { SERVICES } from '#gateway/http/services.ts'
import { type DocumentName, presentDocuments } from '#openapi/load-document.ts'
import type { Microversion } from '#openapi/microversions.ts'
import type { Operation } from '#openapi/projection/operation.ts'
import { Described } from '#test/contract/described.ts'
import { sampleOf } from '#test/contract/sample.ts'

/** One operation or server action on a walk over the documents. */
export interface Walked {
  readonly service: DocumentName
  readonly described: Described
  readonly operation: Operation
  /** Unique over all documents. */
  readonly id: string
}

/** Every operation of every document: a new one is walked without a new test. */
export const WALKED: readonly Walked[] = presentDocuments().flatMap((service) => {
  const described = new Described(service)
  return described.contract.operations.map((operation) => {
    return { service, described, operation, id: `${service} ${operation.id}` }
  })
})

/** Returns the value for a parameter of a path. */
export type Fill = (service: DocumentName, parameter: string) => string

/** An id of the right form that no object has. */
export const NOBODY = '0dd0dd0d-0dd0-4dd0-8dd0-0dd00dd00dd0'

/** The path of an operation from the root of the port. */
export function pathOf({ service, operation }: Walked, fill: Fill): string {
  const filled = operation.path.replaceAll(/\{(\w+)\}/g, (_, parameter: string) =>
    encodeURIComponent(fill(service, parameter)),
  )
  return SERVICES[service].prefix + (filled === '/' ? '' : filled)
}

/** The request body for a value: of an action, the value under the action's key. */
export function bodyOf({ operation: { action } }: Walked, value: unknown): unknown {
  return action === undefined ? value : { [action]: value }
}

/** A valid body with everything there is at a microversion; undefined where the operation takes none. */
export function validBody(walked: Walked, version: Microversion): unknown {
  const schema = walked.described.bodySchema(walked.operation)
  if (schema !== undefined) return bodyOf(walked, sampleOf(schema, version))
  return walked.operation.action === undefined ? undefined : bodyOf(walked, null)
}

/** True for what reads: it may be asked of real things any number of times. */
export function isRead({ operation: { method } }: Walked): boolean {
  return method === 'GET' || method === 'HEAD'
}
