import { Failure } from '#common/errors.ts'

/** What was to be written was decided on a revision of the object that is not the newest any more. */
export class StaleRevision extends Failure {
  constructor(object: string) {
    super('conflict', `${object} changed meanwhile. Please try again.`)
  }
}
