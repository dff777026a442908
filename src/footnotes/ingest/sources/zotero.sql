-- name: items
SELECT i.itemID, i.key, t.typeName FROM items i JOIN itemTypes t ON t.itemTypeID = i.itemTypeID
WHERE i.itemID NOT IN (SELECT itemID FROM deletedItems) ORDER BY i.itemID;

-- name: attachments
SELECT a.itemID, a.parentItemID, a.path, i.key FROM itemAttachments a JOIN items i ON i.itemID = a.itemID
WHERE a.path IS NOT NULL AND a.itemID NOT IN (SELECT itemID FROM deletedItems)
  AND (a.parentItemID IS NULL OR a.parentItemID NOT IN (SELECT itemID FROM deletedItems)) ORDER BY a.itemID;

-- name: notes
SELECT n.itemID, n.parentItemID, n.note, n.title, i.key FROM itemNotes n JOIN items i ON i.itemID = n.itemID
WHERE n.note IS NOT NULL AND n.note <> '' AND n.itemID NOT IN (SELECT itemID FROM deletedItems)
  AND (n.parentItemID IS NULL OR n.parentItemID NOT IN (SELECT itemID FROM deletedItems)) ORDER BY n.itemID;

-- name: fields
SELECT d.itemID, f.fieldName, v.value FROM itemData d JOIN fields f ON f.fieldID = d.fieldID
JOIN itemDataValues v ON v.valueID = d.valueID ORDER BY d.itemID, f.fieldName;

-- name: creators
SELECT c.itemID, p.firstName, p.lastName FROM itemCreators c JOIN creators p ON p.creatorID = c.creatorID
ORDER BY c.itemID, c.orderIndex;

-- name: tags
SELECT x.itemID, t.name FROM itemTags x JOIN tags t ON t.tagID = x.tagID ORDER BY x.itemID, t.name;

-- name: collections
SELECT x.itemID, c.collectionName AS name FROM collectionItems x JOIN collections c ON c.collectionID = x.collectionID
ORDER BY x.itemID, c.collectionName;
