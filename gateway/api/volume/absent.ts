import { Failure } from '#common/errors.ts'
import type { operations } from '#openapi/volume.gen.ts'
import type { Handler } from '../../http/operation.ts'

// Resources of Cinder of which there are none: clients list them, and are told why none can be made.

const none =
  (key: string): Handler =>
  async () => ({ body: { [key]: [] } })

const notFound =
  (what: string, parameter: string): Handler =>
  async ({ params }) => {
    throw new Failure('not-found', `${what} ${params[parameter]} could not be found.`)
  }

const unsupported =
  (reason: string): Handler =>
  async () => {
    throw new Failure('unsupported', reason)
  }

/** As Cinder answers where no backup service runs; Horizon then shows no backups. */
const noBackupService: Handler = async () => {
  throw new Failure('unavailable', 'Service cinder-backup could not be found.')
}

/** With their number where the client asks for it: Horizon's panel shows nothing without. */
const noBackups: Handler<operations['listBackups']> = async ({ query }) => ({
  body: { backups: [], ...(query.with_count === true && { count: 0 }) },
})

const backup = notFound('Backup', 'backup_id')
const cluster = notFound('Cluster', 'cluster_id')
const consistencyGroup = notFound('ConsistencyGroup', 'consistencygroup_id')
const consistencyGroupSnapshot = notFound('CgSnapshot', 'cgsnapshot_id')
const group = notFound('Group', 'group_id')
const groupSnapshot = notFound('GroupSnapshot', 'group_snapshot_id')
const groupType = notFound('Group type', 'group_type_id')
const qosSpec = notFound('QoS spec', 'qos_id')
/** Which one is named in the body; the path says what to do with it. */
const changeCluster: Handler<operations['updateCluster']> = async ({ body }) => {
  throw new Failure('not-found', `Cluster ${body.name} could not be found.`)
}
const noGroups = unsupported('Groups of volumes are not supported: create volumes one by one.')

export const absentHandlers = {
  createBackup: noBackupService,
  createConsistencyGroup: noGroups,
  createConsistencyGroupSnapshot: noGroups,
  createGroup: noGroups,
  createGroupSnapshot: noGroups,
  createGroupType: noGroups,
  createQosSpec: unsupported('QoS specs are not supported: the speed of volumes is not limited.'),
  deleteBackup: backup,
  deleteConsistencyGroup: consistencyGroup,
  deleteConsistencyGroupSnapshot: consistencyGroupSnapshot,
  deleteGroup: group,
  deleteGroupSnapshot: groupSnapshot,
  deleteGroupType: groupType,
  deleteQosSpec: qosSpec,
  listBackups: noBackups,
  listBackupsDetail: noBackups,
  listClusters: none('clusters'),
  listClustersDetail: none('clusters'),
  listConsistencyGroupSnapshots: none('cgsnapshots'),
  listConsistencyGroupSnapshotsDetail: none('cgsnapshots'),
  listConsistencyGroups: none('consistencygroups'),
  listConsistencyGroupsDetail: none('consistencygroups'),
  listGroupSnapshots: none('group_snapshots'),
  listGroupSnapshotsDetail: none('group_snapshots'),
  listGroupTypes: none('group_types'),
  listGroups: none('groups'),
  listGroupsDetail: none('groups'),
  listQosSpecs: none('qos_specs'),
  showBackup: backup,
  showCluster: cluster,
  showConsistencyGroup: consistencyGroup,
  showConsistencyGroupSnapshot: consistencyGroupSnapshot,
  showGroup: group,
  showGroupSnapshot: groupSnapshot,
  showGroupType: groupType,
  showQosSpec: qosSpec,
  updateCluster: changeCluster,
}
