import { notTyped } from './page-script.ts'

// Commands of pages that need services of somebody else.

export const DATABASES =
  'mysql://admin@db1.example.org:3306,db2.example.org:3306,db3.example.org:3306'
const [BUS_1, BUS_2, BUS_3] = ['nats://bus1', 'nats://bus2', 'nats://bus3'].map(
  (host) => `${host}.example.org`,
)
export const BUS = `${BUS_1}:4222,${BUS_2}:4222,${BUS_3}:4222`
export const BUS_LEAF = `${BUS_1}:7422,${BUS_2}:7422,${BUS_3}:7422`

/** outside-services.test.ts types these. */
export const ONE_MACHINE_LINES = {
  keys: './weir keys create bus-keys',
  up: `WEIR_DATABASE_PASSWORD=… ./weir up --database ${DATABASES} --bus ${BUS} --bus-keys bus-keys --bus-leaf ${BUS_LEAF}`,
  images:
    './weir up --images s3://weir-images --set GATEWAY_IMAGES_S3_ENDPOINT=https://s3.example.org --set GATEWAY_IMAGES_S3_ACCESS_KEY_FILE=/etc/weir/s3-access --set GATEWAY_IMAGES_S3_SECRET_KEY_FILE=/etc/weir/s3-secret',
} as const

/** And these. */
export const BACKUP_LINES = {
  endpoint: 'export WEIR_BACKUP_S3_ENDPOINT=https://s3.example.org',
  key: 'export WEIR_BACKUP_S3_ACCESS_KEY_FILE=/etc/weir/backup-access WEIR_BACKUP_S3_SECRET_KEY_FILE=/etc/weir/backup-secret',
  run: './weir backup run --directory /var/backups/weir --to s3://backups/weir',
  fetch:
    './weir backup fetch --from s3://backups/weir --directory /var/backups/weir --key-file gateway.key',
  restore:
    './weir restore /var/backups/weir/NAME/gateway.backup --to mysql://root:PASSWORD@HOST:3306/weir --key-file FILE --yes',
} as const

/** production.test.ts types these, where systemd runs gateways that use a cluster of databases. */
export const RESTORE_LINES = {
  stop: 'systemctl stop weir-gateway',
  restore: './weir restore /var/backups/weir/NAME --env-file /etc/weir/gateway.env --yes',
  start: 'systemctl start weir-gateway',
} as const

/** For the tests that type the rest of these pages. */
export const typedBeside = (lines: Readonly<Record<string, string>>) =>
  notTyped('test/documents/outside-services.test.ts types it.', Object.values(lines))

/** Of the page on networks. */
export const OVN_BETWEEN_MACHINES = notTyped(
  'test/real/ovn-certificates.test.ts types it where hosts have certificates.',
  [
    'ovn-sbctl set-ssl southbound.key southbound.pem ca.pem',
    `ovn-sbctl set-connection role=ovn-controller pssl:6642 -- --id=@cell create Connection 'target="pssl:6644"' -- add SB_Global . connections @cell`,
    'ovn-nbctl set-ssl northbound.key northbound.pem ca.pem',
    'ovn-nbctl set-connection pssl:6641',
    'ovs-vsctl set-ssl HOST-ID.key HOST-ID.pem ca.pem',
    'ovs-vsctl set Open_vSwitch . external-ids:ovn-remote=ssl:192.0.2.21:6642',
  ],
)
