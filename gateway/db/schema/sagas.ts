export { commitMarkers } from '#common/db/commit-markers.ts'
export { leases, sagas } from '#common/saga/schema.ts'
