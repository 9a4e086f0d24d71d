import type { CellId } from '#common/ids.ts'
import type { ServerRecord } from '../list/server-record.ts'
import type { RequestedProperties } from './requested-properties.ts'

/** The record of a server that the gateway has accepted. */
export interface NewServer
  extends Pick<
    ServerRecord,
    | 'id'
    | 'projectId'
    | 'userId'
    | 'name'
    | 'hostname'
    | 'description'
    | 'metadata'
    | 'tags'
    | 'flavor'
    | 'imageId'
    | 'keyName'
    | 'configDrive'
    | 'addresses'
    | 'securityGroups'
    | 'reservationId'
    | 'launchIndex'
    | 'diskConfig'
    | 'requestedZone'
    | 'accessIPv4'
    | 'accessIPv6'
    | 'vmState'
    | 'taskState'
    | 'fault'
  > {
  /** The cell it is to be built in; null when none will have it. */
  readonly cellId: CellId | null
  /** Null: nothing. */
  readonly requested: RequestedProperties | null
  /** The first one: greater than of any server that had its id before. */
  readonly attempt: number
}
