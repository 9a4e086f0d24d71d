package main

import (
	"net/url"
	"os"

	"github.com/gophercloud/gophercloud/openstack/blockstorage/v3/snapshots"
	"github.com/gophercloud/gophercloud/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/volumeattach"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/pagination"
)

const (
	claim   = "pvc-0c9d1f3e"
	cluster = "cinder.csi.openstack.org/cluster"
)

// asCSI keeps a claim of Kubernetes as its plugin for Cinder does: every step asks first whether it is done already.
func (cloud *Cloud) asCSI() {
	nodes := []string{os.Getenv("SERVER"), os.Getenv("OTHER_SERVER")}
	cloud.seen["before"] = len(cloud.named(claim))
	made := cloud.create(volumes.CreateOpts{
		Name:             claim,
		Size:             1,
		AvailabilityZone: os.Getenv("ZONE"),
		Metadata:         map[string]string{cluster: "kubernetes"},
	})
	cloud.seen["made"] = []interface{}{made.Size, made.AvailabilityZone, made.Metadata}
	cloud.seen["again"] = len(cloud.named(claim))

	node, err := servers.Get(cloud.compute, nodes[0]).Extract()
	must(err)
	cloud.attach(node.ID, made.ID)
	held := cloud.volume(made.ID)
	cloud.seen["published"] = held.Attachments[0].Device
	elsewhere := volumeattach.CreateOpts{VolumeID: made.ID}
	cloud.seen["elsewhere"] = statusOf(volumeattach.Create(cloud.compute, nodes[1], elsewhere).Err)

	cloud.extend(made.ID, 2, "in-use")
	cloud.seen["snapshot_unforced"] = statusOf(snapshots.Create(cloud.storage, snapshots.CreateOpts{
		VolumeID: made.ID, Name: "unforced", Description: "Created by OpenStack Cinder CSI driver",
	}).Err)
	kept := cloud.snapshot(snapshots.CreateOpts{
		VolumeID:    made.ID,
		Name:        "snapshot-1",
		Description: "Created by OpenStack Cinder CSI driver",
		Force:       true,
		Metadata:    map[string]string{cluster: "kubernetes"},
	})
	cloud.seen["snapshots"] = cloud.snapshotsOf(snapshots.ListOpts{Status: "available", VolumeID: made.ID, Limit: 10})
	cloud.seen["snapshots_by_name"] = cloud.snapshotsOf(snapshots.ListOpts{Name: "snapshot-1"})

	restored := cloud.create(volumes.CreateOpts{Name: "pvc-restored", Size: 2, SnapshotID: kept.ID})
	cloned := cloud.create(volumes.CreateOpts{Name: "pvc-cloned", Size: 3, SourceVolID: made.ID})
	cloud.seen["sizes"] = []int{restored.Size, cloned.Size}
	cloud.seen["pages"] = cloud.pages(2)

	cloud.detach(nodes[0], made.ID)
	cloud.seen["moved"] = cloud.attach(nodes[1], made.ID).ServerID == nodes[1]
	cloud.detach(nodes[1], made.ID)
	cloud.removeSnapshot(kept.ID)
	for _, each := range []*volumes.Volume{made, restored, cloned} {
		cloud.seen["used"] = len(cloud.volume(each.ID).Attachments)
		cloud.remove(each.ID)
	}
	cloud.seen["removed_again"] = statusOf(volumes.Delete(cloud.storage, made.ID, nil).Err)
}

func (cloud *Cloud) named(name string) []volumes.Volume {
	page, err := volumes.List(cloud.storage, volumes.ListOpts{Name: name}).AllPages()
	must(err)
	found, err := volumes.ExtractVolumes(page)
	must(err)
	return found
}

func (cloud *Cloud) snapshotsOf(opts snapshots.ListOpts) []string {
	page, err := snapshots.List(cloud.storage, opts).AllPages()
	must(err)
	found, err := snapshots.ExtractSnapshots(page)
	must(err)
	names := []string{}
	for _, each := range found {
		names = append(names, each.Name)
	}
	return names
}

// pages asks for one page after the other by the marker that the former names, as Kubernetes does by tokens.
func (cloud *Cloud) pages(limit int) [][]string {
	all, marker := [][]string{}, ""
	for {
		names, next := []string{}, ""
		opts := volumes.ListOpts{Limit: limit, Marker: marker, Sort: "created_at:asc"}
		must(volumes.List(cloud.storage, opts).EachPage(func(page pagination.Page) (bool, error) {
			found, err := volumes.ExtractVolumes(page)
			must(err)
			for _, each := range found {
				names = append(names, each.Name)
			}
			address, err := page.NextPageURL()
			must(err)
			query, err := url.Parse(address)
			must(err)
			next = query.Query().Get("marker")
			return false, nil
		}))
		all = append(all, names)
		if next == "" {
			return all
		}
		marker = next
	}
}
